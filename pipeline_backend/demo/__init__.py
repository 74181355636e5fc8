"""The demo's data: an organization that looks lived in, and as large as one likes.

opening    the organizations, their members, types of calls and custom fields
people     who the leads are
campaigns  where they come from, and what they answer
clock      lets the services believe that it is some other moment
story      what happens to each lead, and when: the plan
acts       how it happens: through the services
growth     how many more leads and appointments are wanted, and who gets them
invention  leads and calls by the hundred thousand, by the services' rules
copying    their way into the database
facts      the file that tells others the demo's key and password
"""
