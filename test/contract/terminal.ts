/** Section 1.12: the terminal's page and socket. */
import { once } from 'node:events'
import type { Test } from 'tap'
import WebSocket from 'ws'
import { ask, fresh, patienceMs, type Target } from './target.ts'

/** A terminal as a browser has it. */
const terminal = async (t: Test, target: Target, query: string) => {
  const socket = new WebSocket(`${target.url.replace(/^http/, 'ws')}/terminal/ws?${query}`, {
    headers: { ...target.headers },
  })
  t.teardown(() => socket.terminate())
  let shown = ''
  let changed = Promise.withResolvers<void>()
  socket.on('message', (data, isBinary) => {
    if (isBinary) throw new Error('a binary frame')
    const frame = JSON.parse(String(data)) as { type: string; data: string }
    if (frame.type === 'output') shown += frame.data
    changed.resolve()
    changed = Promise.withResolvers()
  })
  await once(socket, 'open', { signal: AbortSignal.timeout(patienceMs) })
  return {
    socket,
    send: (frame: unknown) => socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    shown: () => shown,
    async until(pattern: RegExp) {
      const limit = AbortSignal.timeout(patienceMs)
      const late = new Promise<never>((_, reject) =>
        limit.addEventListener('abort', () => reject(new Error(`no ${pattern} in ${JSON.stringify(shown)}`))),
      )
      late.catch(() => undefined)
      while (!pattern.test(shown)) await Promise.race([changed.promise, late])
    },
  }
}

export const terminals = async (t: Test, target: Target): Promise<void> => {
  await t.test('the page', async t => {
    t.match(await ask(target, 'GET', '/terminal'), { status: 200, headers: { 'content-type': /^text\/html/ } })
  })

  await t.test('typed, shown, resized, and there again after the socket is lost', async t => {
    const sessionId = fresh('session')
    const query = `cols=90&rows=30&shell=/bin/sh&workingDir=/tmp&sessionId=${sessionId}&token=ignored`
    const first = await terminal(t, target, query)
    first.send({ type: 'input', data: 'echo at-$PWD-$((40+2)); stty size\r' })
    await first.until(/at-\/tmp-42\r\n30 90/)
    for (const nothing of ['not json', { type: 'unknown' }, { type: 'resize', cols: 0, rows: 5 }]) first.send(nothing)
    first.send({ type: 'resize', cols: 120, rows: 40 })
    first.send({ type: 'input', data: 'stty size; kept=yes\r' })
    await first.until(/40 120/)
    first.socket.close()
    await once(first.socket, 'close', { signal: AbortSignal.timeout(patienceMs) })
    const second = await terminal(t, target, `cols=70&rows=20&sessionId=${sessionId}`)
    await second.until(/at-\/tmp-42/)
    t.equal(second.shown().startsWith('\x1b[0m'), true, 'the replay begins with a reset')
    second.send({ type: 'input', data: 'echo still-$kept; stty size\r' })
    await second.until(/still-yes\r\n20 70/)
    second.send({ type: 'input', data: 'exit\r' })
    await once(second.socket, 'close', { signal: AbortSignal.timeout(patienceMs) })
    t.pass('the socket closes with the shell')
  })
}
