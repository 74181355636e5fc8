"""The pages of accounts. They are below /admin/, so that its sessions, its scope and its security headers apply."""

from django.urls import path

from accounts import invitation_views, new_password

urlpatterns = [
    path("invitation/<token>/", invitation_views.answer_invitation, name="invitation"),
    # The names of this and the last one are those that Django's sign-in page looks for.
    path("password-reset/", new_password.ask_for_password_reset, name="admin_password_reset"),
    path("password-reset/done/", new_password.password_reset_done, name="password_reset_done"),
    path("password-reset/<uidb64>/<token>/", new_password.choose_password, name="admin_password_reset_confirm"),
]
