"""Accounts: how a person joins an organization, signs in, and gets a new password.

Constraints:

1. Whoever can read an address's mail, and nobody else, joins and signs in under that address. So links that prove an
   address go to its mailbox only: inviters and managers never see one.
2. Nobody becomes a member without their consent. Until they accept, an invitation is all there is: no account, no
   membership, no name.
3. An account whose address nobody has proved is never inherited: the first proof ends its password and its sessions.
4. No page, response or response time shows whether an account exists.
5. No link is stored, logged or passed to a task.

How the design follows:

- `invitations` invites, sends again, withdraws, accepts and declines. It reads accounts only when a link is opened, so
  inviting takes the same steps for every address (4). The link's token is derived from the row and `SECRET_KEY` when
  the e-mail is sent (5).
- `password_reset` stores one row for each request, whatever the address (4). The worker looks for the account later,
  and mails it a link that expires and dies with any change of password, address or membership.
- `mail` has the queues of the outbox, and renders their e-mails. `views` has the pages behind the links.
- `sign_in` and `two_factor` check passwords and codes, `sign_in_limits` limits guesses, `sessions` lists and ends
  sessions. `onboarding` creates an organization with its statuses and its owner.

The models are those of `organizations`; `staff` has the pages of members and users.
"""
