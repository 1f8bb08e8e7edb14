// The entry of the console's scripts. Every page also works without them.

import "./live/swaps.js"; // first: the other modules adjust what an update has changed
import "./live/answers.js";
import "./live/updates.js";
import "./live/outage.js";
import "./live/notices.js";
import "./times.js";
import "./suggestions.js";
import "./filter.js";
import "./keyboard/menus.js";
import "./keyboard/palette.js";
import "./keyboard/shortcuts.js";
import "./selection.js";
import "./preferences.js";
import "./charts.js";
import "./sidebar.js";
import "./forms.js";
import "./copying.js";
