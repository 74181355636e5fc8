"""How fast it is, against yardsticks on the same data in the same run: `make bench`, told in docs/performance.md.

world      databases, web servers, organizations and keys of a run; all are gone when it ends
preparing  what each database holds: filling brings rows by the million
delivering what the deliveries' workers get done
load       the client: keeps its connections, asks and reads as fast as it can
measuring  two sides in turn, medians, whether they are as they must be, and the table
pgbench    the database alone, asked by PostgreSQL's own program
recording  what it is asked: a booking's work in twelve statements
ordinary   the same interface as one would write it first, on the same models; and views that answer only bytes
rows       the rows of the table
"""
