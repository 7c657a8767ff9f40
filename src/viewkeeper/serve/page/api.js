// What the service is asked. The token stays in this tab.

const KEY = "viewkeeper-token";

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  keep: (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY)),
};

export async function get(path) {
  return answer(await fetch(path, { headers: { accept: "application/json" } }));
}

export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  return answer(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function answer(response) {
  const found = await response.json().catch(() => ({ error: { message: `The service answered ${response.status}.` } }));
  if (response.ok) return found;
  const error = new Error(found.error?.message ?? "The service did not answer.");
  throw Object.assign(error, { told: found.error, status: response.status });
}

/** Hears what a run tells, until it is over; gives how it ended. */
export function followed(run, told) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(`api/runs/${run.id}/events`);
    source.addEventListener("progress", (event) => told(JSON.parse(event.data)));
    source.addEventListener("end", (event) => {
      source.close();
      resolve(JSON.parse(event.data));
    });
    source.addEventListener("error", () => {
      source.close();
      reject(new Error("The connection to the service was lost."));
    });
  });
}

export const named = (name) => encodeURIComponent(name);
