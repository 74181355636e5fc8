"""What admin pages are made of: base classes, and the parts that a page lists.

`actions` has the buttons of a row's page and `bulk` those for selected rows, `base` the pages whose writes go through
services, `lists` the limits, filters and cells of lists, `views` the views, layouts and buttons of lists (`export` is a
button), `tenant` the pages of rows that belong to an organization, and `record`, `custom_fields` and `timeline` the
pages of leads and appointments.
"""
