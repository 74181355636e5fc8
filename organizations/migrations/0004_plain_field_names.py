from django.db import migrations, models


class Migration(migrations.Migration):
    """Renames fields of the models only: the columns and the unique index keep their names, so the database does nothing."""

    dependencies = [
        ('organizations', '0003_second_wall'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint(model_name='rowcount', name='one_count_per_table_and_part'),
                migrations.AlterField(model_name='rowcount', name='part', field=models.PositiveSmallIntegerField(db_column='part', editable=False)),
                migrations.RenameField(model_name='rowcount', old_name='part', new_name='shard'),
                migrations.AlterField(
                    model_name='rowcount', name='counted', field=models.CharField(db_column='counted', editable=False, max_length=63, verbose_name='table')
                ),
                migrations.RenameField(model_name='rowcount', old_name='counted', new_name='table_name'),
                migrations.AddConstraint(
                    model_name='rowcount',
                    constraint=models.UniqueConstraint(
                        models.F('organization'), models.F('table_name'), models.F('shard'), name='one_count_per_table_and_part'
                    ),
                ),
            ],
        ),
    ]
