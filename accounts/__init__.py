"""Accounts: how a person joins an organization, signs in, and gets a new password.

Constraints:

1. Only a person who can read an address's mail joins and signs in under that address. So links that prove an address
   go to its mailbox only: inviters and managers never see one.
2. No one becomes a member without consent. Until they accept, only an invitation exists: no account, no membership.
3. An account with an unverified address is never inherited: the first proof ends its password and its sessions.
4. No page, response or response time shows whether an account exists.
5. No link is stored, logged or passed to a task.

How the design follows:

- `invitations` reads accounts only when a link is opened, so inviting takes the same steps for every address (4). The
  link's token is derived from the row and `SECRET_KEY` when the e-mail is sent (5).
- `new_password` stores one row for each request, whatever the address (4). The worker looks for the account later, and
  mails it a link that expires and dies with a change of the password or the address, or a sign-in.
- `sign_in` checks passwords, `sign_in_limits` limits guesses, `two_factor` demands and checks codes.
"""
