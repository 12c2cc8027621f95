// What a figure's table and plot are asked, kept in the page's address after the #, so that reload,
// back and a link keep it. What is of the table begins with `rows`; all else is of the plot.
"use strict";
const address = (() => {
  const asked = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");

  // Put values in the place of all that is of the same part of the page.
  function keep(isOwn, values) {
    const query = asked();
    for (const name of [...query.keys()]) if (isOwn(name)) query.delete(name);
    for (const [name, value] of Object.entries(values)) query.set(name, value);
    const text = query.toString();
    if (text) history.replaceState(null, "", `#${text}`);
    else if (location.hash.includes("=")) history.replaceState(null, "", "#main");
  }

  return { asked, keep };
})();
