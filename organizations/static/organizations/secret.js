const secret = document.getElementById("secret")
document.querySelector("button[name=copy]").addEventListener("click", function () {
    navigator.clipboard.writeText(secret.textContent).then(() => { this.textContent = "Copied" })
})
// A reload shows the row, instead of sending the form again.
history.replaceState(null, "", secret.dataset.row)
