// A new account gets the time zone of the browser.
const field = document.querySelector("[name=browser_zone]");
if (field) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
