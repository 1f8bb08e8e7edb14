// The console's entry: each module keeps one habit of the page. Without any of them every page still works.

import "./times.js";
import "./outage.js";
import "./answers.js";
import "./live.js";
import "./suggestions.js";
import "./filter.js";
import "./shortcuts.js";
import "./selection.js";
import "./preferences.js";
import "./charts.js";
import "./copying.js";
