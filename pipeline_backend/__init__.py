"""The Django project, and the packages below and above the apps."""
