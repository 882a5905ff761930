import { Disconnected } from "./errors.js";
import { CLOSE_TIME, CONNECT_TIME, type Open } from "./socket.js";

/** Opens the WebSocket of the browser, which can send no token as it connects: the messages have it. */
export const openBrowserSocket: Open = (url, _token, _options, events) =>
  new Promise((resolve, reject) => {
    const web = new WebSocket(url);
    let opened = false;
    let over = false;
    const timer = setTimeout(() => end(1006, `${url} does not answer`), CONNECT_TIME);
    const end = (code: number, reason: string) => { // does not wait for the close event, which a dead socket raises late
      if (over) return;
      over = true;
      clearTimeout(timer);
      web.close();
      if (opened) events.closed(code, reason);
      else reject(new Disconnected(reason));
    };
    web.onopen = () => {
      opened = true;
      clearTimeout(timer);
      resolve({
        pings: false,
        get buffered() { return web.bufferedAmount; },
        send: (text) => { if (!over && web.readyState === WebSocket.OPEN) web.send(text); },
        close: () => {
          web.close(1000);
          setTimeout(() => end(1006, "the node has not closed the connection"), CLOSE_TIME);
        },
        abort: () => end(1006, "the connection was given up"),
      });
    };
    web.onmessage = ({ data }) => { if (!over) events.message(String(data)); };
    web.onerror = () => { if (!opened) end(1006, `${url} cannot be reached`); };
    web.onclose = ({ code, reason }) => end(code, reason);
  });
