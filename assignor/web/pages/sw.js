// Keeps the files of the site, listed in SITE, so that it works offline. Nothing else is ever kept.

addEventListener("install", (event) => event.waitUntil(caches.open(SITE.cache).then((cache) => cache.addAll(SITE.files))));

addEventListener("activate", (event) =>
  event.waitUntil(
    caches.keys().then((names) =>
      Promise.all(names.filter((name) => name.startsWith("streams-assignor-") && name !== SITE.cache).map((name) => caches.delete(name))),
    ),
  ),
);

addEventListener("fetch", (event) => {
  const own = event.request.method === "GET" && new URL(event.request.url).origin === location.origin;
  if (own) event.respondWith(caches.match(event.request, { cacheName: SITE.cache, ignoreSearch: true }).then((kept) => kept ?? fetch(event.request)));
});
