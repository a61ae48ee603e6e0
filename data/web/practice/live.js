// Shows what others change as it happens. One tab of a browser follows the stream of changes, and
// passes on to the others that there is something new. It is read as the screen always is.
{
  const PAUSE = 500;
  const POLL = 10_000;
  const QUIET = 10_000;
  const AGAIN = 60_000;
  const { feed, place } = asking.words;
  const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

  // The newest view, once nothing is in the hand. A hidden tab reads it when it is seen again.
  let isShowing = false;
  let isWanted = false;
  let spoken = 0;
  const hear = async () => {
    isWanted = true;
    if (isShowing) return;
    isShowing = true;
    while (isWanted && document.visibilityState === "visible") {
      if (agenda.live.isFree()) {
        isWanted = false;
        const isOther = await agenda.live.refresh();
        if (isOther && Date.now() - spoken >= QUIET) {
          spoken = Date.now();
          asking.say(asking.words.others);
        }
      }
      await pause(PAUSE);
    }
    isShowing = false;
  };

  // The feed, asked for its ids alone.
  let since = place;
  const ask = async (after) => {
    const response = await fetch(`${feed}/changes?since=${after}&limit=1&records=0`, { cache: "no-store" });
    if (response.status === 410) return { next: "now", changes: [null] };
    if (!response.ok) throw new Error(response.statusText);
    return response.json();
  };
  const poll = async () => {
    try {
      const { changes } = await ask(since);
      if (changes.length === 0) return;
      // The place first: what comes between is in the view.
      ({ next: since } = await ask("now"));
      hear();
    } catch { /* The screen says by itself that there is no connection. */ }
  };

  // Follows the stream until the server refuses it. Browsers connect again by themselves, and go
  // on where they were.
  const follow = (tell) => new Promise((resolve) => {
    const source = new EventSource(`${feed}/events?since=${since}`);
    source.addEventListener("message", tell);
    source.addEventListener("reset", tell);
    source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) resolve(); });
  });
  const lead = async (tell) => {
    for (;;) {
      await follow(tell);
      for (const end = Date.now() + AGAIN; Date.now() < end;) {
        await pause(POLL);
        await poll();
      }
    }
  };

  if (feed && navigator.locks && self.BroadcastChannel) {
    const name = `changes ${feed}`;
    const channel = new BroadcastChannel(name);
    channel.addEventListener("message", hear);
    const tell = () => {
      channel.postMessage(null);
      hear();
    };
    let isLeader = false;
    navigator.locks.request(name, () => {
      isLeader = true;
      return lead(tell);
    });
    // What has changed while this screen was on its way, if another tab has the stream.
    setTimeout(() => { if (!isLeader) poll(); }, PAUSE);
  } else if (feed) {
    // Without HTTPS there are no locks: each tab asks by itself.
    setInterval(() => { if (document.visibilityState === "visible") poll(); }, POLL);
  }
}
