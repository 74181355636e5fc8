"""The pages of accounts. They are below /admin/, so that its sessions, its scope and its security headers apply."""

from django.urls import path

from accounts import views

urlpatterns = [
    path("invitation/<token>/", views.answer_invitation, name="invitation"),
    # The names of this and the last one are those that Django's sign-in page looks for.
    path("password-reset/", views.ask_for_password_reset, name="admin_password_reset"),
    path("password-reset/done/", views.password_reset_done, name="password_reset_done"),
    path("password-reset/<uidb64>/<token>/", views.choose_password, name="admin_password_reset_confirm"),
]
