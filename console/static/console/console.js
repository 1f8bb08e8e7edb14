// The console's entry: each module keeps one habit of the page. Without any of them every page still works.

import "./live/swaps.js"; // the first, because others follow what a swap leaves
import "./live/answers.js";
import "./live/updates.js";
import "./live/outage.js";
import "./times.js";
import "./suggestions.js";
import "./filter.js";
import "./keyboard/menus.js";
import "./keyboard/palette.js";
import "./keyboard/shortcuts.js";
import "./selection.js";
import "./preferences.js";
import "./charts.js";
