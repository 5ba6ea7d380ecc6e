/**
 * Gives memory back while nothing happens. V8 collects when it allocates, so what a burst of requests left behind
 * stays as long as the daemon is idle, and a sandbox is idle most of its life.
 */
import { subscribe } from 'node:diagnostics_channel'

const quietMs = 2_000

/** Collects once after `quietMs` without a new request; `collector` gives V8's own and is asked when first needed. */
export const rest = (collector: () => () => void): void => {
  let timer: NodeJS.Timeout | undefined
  let collect: (() => void) | undefined
  const run = (): void => {
    collect ??= collector()
    collect()
  }
  const wait = (): void => {
    if (timer) timer.refresh()
    else timer = setTimeout(run, quietMs).unref()
  }
  subscribe('http.server.request.start', wait)
  wait()
}
