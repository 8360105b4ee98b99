// On every page: the theme without a reload, exact times in the reader's own time zone, and menus that close.
"use strict";

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-theme-choice]");
  if (!form || !event.submitter) return;
  event.preventDefault();
  const theme = event.submitter.value;
  document.documentElement.dataset.theme = theme;
  document.querySelector("meta[name=color-scheme]").content = theme === "system" ? "light dark" : theme;
  for (const button of form.querySelectorAll("[name=theme]")) {
    button.setAttribute("aria-pressed", String(button === event.submitter));
  }
  fetch(form.action, { method: "POST", body: new URLSearchParams({ theme, next: "/" }), redirect: "manual" })
    .catch(() => say("Your choice holds until you close this page: North cannot be reached."));
});

document.addEventListener("mouseover", (event) => {
  const time = event.target.closest("time[datetime]");
  if (!time) return;
  time.title = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "full", timeStyle: "short" });
});

// A menu closes by Escape, which gives the keyboard back, and by a press anywhere else.
document.addEventListener("keydown", (event) => {
  const menu = event.target.closest("[data-menu][open]");
  if (!menu || event.key !== "Escape") return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

let saying;

// Tell the reader something in passing; a screen reader hears it too.
function say(words) {
  const toast = document.getElementById("toast");
  toast.textContent = words;
  clearTimeout(saying);
  saying = setTimeout(() => { toast.textContent = ""; }, 8000);
}
