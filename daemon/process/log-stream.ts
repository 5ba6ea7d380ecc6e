import type { Pump } from '../../shared/route.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Managed } from './managed.ts'
import { follow, type Part, type Start } from './output/follow.ts'
import { lostLine } from './room/room.ts'

const logKeepaliveMs = 30_000

/**
 * The combined log as prefixed lines. Lines without a prefix are not output: `[keepalive]`, and notices of a stop or
 * kill. They come only between lines, when the reader has everything.
 */
export const combinedStream =
  (managed: Managed, start: Start, heartbeat: Heartbeat): Pump =>
  async (out, signal) => {
    let idle = false
    const notices: string[] = []
    const say = (text: string): void => void out.write(`${text}\n`)
    const notice = (text: string): void => {
      if (idle) say(text)
      else notices.push(text)
    }
    const stopBeat = heartbeat.every(logKeepaliveMs, () => {
      // A reader with unread output needs no sign of life.
      if (idle && !out.writableNeedDrain) say('[keepalive]')
    })
    managed.notices.add(notice)
    try {
      await follow(managed.capture, 2, start, out, signal, {
        gap: text => `stdout:${text}\n`,
        idle: () => {
          idle = true
          for (const text of notices.splice(0)) say(text)
        },
        busy: () => {
          idle = false
        },
      })
      for (const text of notices) say(text)
      if (managed.record.diskWasFull) out.write(`stderr:${lostLine}`)
    } finally {
      managed.notices.delete(notice)
      stopBeat()
    }
  }

/** One stream's bytes as the process wrote them, with nothing added but the line that reports a gap. */
export const rawStream =
  (managed: Managed, part: Exclude<Part, 2>, start: Start): Pump =>
  (out, signal) =>
    follow(managed.capture, part, start, out, signal, { gap: text => `${text}\n` })
