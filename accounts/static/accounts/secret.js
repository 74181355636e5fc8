const secret = document.getElementById("secret")
document.querySelector("button[name=copy]").addEventListener("click", function () {
    navigator.clipboard.writeText(secret.textContent).then(() => { this.textContent = "Copied" })
})
// Reloading shows the row's page instead of sending the form again.
history.replaceState(null, "", secret.dataset.row)
