(own) => new Promise((done) => {
  // Paints are reported a frame or more after they were begun: wait for the first, and a little for a larger one.
  const least = 200, most = 1000, begun = performance.now();
  let first = -1, largest = -1;
  const watch = (type, see) => {
    try {
      new PerformanceObserver((list) => list.getEntries().forEach(see)).observe({ type, buffered: true });
    } catch { /* a browser that does not know this kind */ }
  };
  watch("paint", (entry) => { if (entry.name === "first-contentful-paint") first = entry.startTime; });
  watch("largest-contentful-paint", (entry) => { largest = entry.startTime; });
  const look = () => {
    if (own && window.rrulComplete === undefined) return setTimeout(look, 25);
    const waited = performance.now() - begun;
    if (waited < least || (first < 0 && waited < most)) return setTimeout(look, 25);
    const navigation = performance.getEntriesByType("navigation")[0] || {};
    done({
      first_byte: navigation.responseStart,
      dom_content_loaded: navigation.domContentLoadedEventEnd,
      load_event: navigation.loadEventEnd,
      complete: own ? window.rrulComplete : -1,
      first_contentful_paint: first,
      largest_contentful_paint: largest,
    });
  };
  look();
})
