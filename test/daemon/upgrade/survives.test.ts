/** The real program replaces itself in the middle of everything, and who comes back finds all of it. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { events, openGet, openPost, until } from '../../support/processes.ts'
import { upgradable } from '../../support/releases.ts'
import { open, type } from '../../support/terminal.ts'

t.test('streams of every kind are cut and go on', async t => {
  const daemon = await upgradable(t)
  const { url, ask, dir } = daemon
  const at = (name: string) => join(dir, 'work', name)
  const command = `i=0; while [ -e ${at('go')} ]; do i=$((i+1)); echo $i; sleep 0.01; done`
  writeFileSync(at('go'), '')
  const expected = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
  await ask('POST', '/process', { name: 'logged', command })
  const log = await openGet(t, `${url}/process/logged/logs/stream`)
  const exec = await openPost(t, `${url}/process`, { name: 'streamed', command }, { accept: 'text/event-stream' })
  const watch = await openGet(t, `${url}/watch/filesystem/${encodeURIComponent(join(dir, 'work'))}`)
  const cut = [log, exec, watch].map(({ message }) => new Promise(resolve => message.once('close', resolve)))
  for (const { message } of [log, exec, watch]) message.on('error', () => undefined)
  const upload = (await ask('POST', `/filesystem-multipart/initiate/whole`, {})).body.uploadId
  const part = (number: number, text: string) => {
    const body = new FormData()
    body.append('file', new Blob([text]))
    return fetch(`${url}/filesystem-multipart/${upload}/part?partNumber=${number}`, { method: 'PUT', body })
  }
  t.equal((await part(1, 'one ')).status, 200)
  const half = request(`${url}/filesystem-multipart/${upload}/part?partNumber=2`, {
    method: 'PUT',
    headers: { 'content-type': 'multipart/form-data; boundary=b', 'content-length': '1000' },
  })
  const halfCut = once(half, 'error')
  half.write('--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nhalf')
  await Promise.all([log.seen(/stdout:5\n/), exec.seen(/5\\n/)])
  // It waits for the end of something; what takes longer than a moment is cut.
  const waiting = ask('POST', '/process', { name: 'waiting', command, waitForCompletion: true }).catch(error => error)
  await until('its start', async () => (await ask('GET', '/process/waiting')).status === 200)

  t.match(await daemon.upgrade('two'), { upgradeCount: 1, lastUpgrade: { status: 'completed' } })
  await Promise.all([...cut, halfCut])
  t.ok((await waiting) instanceof Error)

  const text = log.text().slice(0, log.text().lastIndexOf('\n') + 1)
  const logs = await openGet(t, `${url}/process/logged/logs/stream?cursor=${text.length}`)
  const seen = events(exec.text().slice(0, exec.text().lastIndexOf('\n') + 1)).filter(({ type }) => type === 'stdout')
  const cursor = seen.at(-1)?.cursor ?? 0
  const goesOn = await openGet(t, `${url}/process/streamed/logs/stream?stream=events&cursor=${cursor}`)
  const watched = await openGet(t, `${url}/watch/filesystem/${encodeURIComponent(join(dir, 'work'))}`)
  t.equal((await part(2, 'two')).status, 200)
  const parts = (await ask('GET', `/filesystem-multipart/${upload}/parts`)).body.parts
  t.equal((await ask('POST', `/filesystem-multipart/${upload}/complete`, { parts })).status, 200)
  t.equal((await ask('GET', '/filesystem/whole')).body.content, 'one two')
  await watched.seen(/whole/)

  rmSync(at('go'))
  const numbers = (text + (await logs.ended)).match(/(?<=^stdout:)\d+$/gm)?.map(Number) ?? []
  t.same(numbers, expected(numbers.length))
  const later = events(await goesOn.ended)
  const all = [...seen, ...later.filter(({ type }) => type === 'stdout')].map(({ data }) => data).join('')
  const streamed = all.trim().split('\n').map(Number)
  t.same(streamed, expected(streamed.length))
  t.match(JSON.parse(later.at(-1)?.data ?? '{}'), { name: 'streamed', status: 'completed', exitCode: 0 })
  t.equal(
    (
      await until('its end', async () => {
        const { body } = await ask('GET', '/process/waiting')
        return body.status !== 'running' && body
      })
    ).status,
    'completed',
  )
})

t.test('terminals go on with their shell, their last output and what is typed', async t => {
  const daemon = await upgradable(t, undefined, { SHELL: '/bin/sh', PS1: '$ ' })
  const go = join(daemon.dir, 'go')
  writeFileSync(go, '')
  const first = await open(t, daemon.url, '?sessionId=work&cols=90&rows=20')
  const other = await open(t, daemon.url, '?sessionId=other')
  type(other, 'mine=other-$((5*5)); echo $mine\r')
  await other.until(/other-25/)
  type(first, `echo pid=$$; i=0; while [ -e ${go} ]; do i=$((i+1)); echo "n$i ü😀"; sleep 0.005; done; echo all=$i.\r`)
  const pid = /pid=(\d+)/.exec(await first.until(/pid=\d+\r\nn1 [^]*n20 /))?.[1]
  // More than a terminal holds, typed at a program that does not read yet.
  const busy = await open(t, daemon.url, '?sessionId=busy')
  type(
    busy,
    `stty raw -echo; echo raw-$((1+1)); while [ -e ${go} ]; do sleep 0.05; done; head -c 100000 | cksum; stty sane\r`,
  )
  await busy.until(/raw-2/)
  const typed = 'typed'.repeat(20_000)
  type(busy, typed)
  const closes = [first, other, busy].map(async ({ socket }) => (await once(socket, 'close'))[0])
  t.match(await daemon.upgrade('two'), { upgradeCount: 1, lastUpgrade: { status: 'completed' } })
  t.same(await Promise.all(closes), [1012, 1012, 1012], 'clients are told to come back')
  t.match(await daemon.upgrade('one'), { upgradeCount: 2, lastUpgrade: { status: 'completed' } })

  const second = await open(t, daemon.url, '?sessionId=work&cols=100&rows=30')
  await second.until(/n20 /)
  t.match(second.sent[0], { type: 'output', data: /^\x1b\[0m/ })
  rmSync(go)
  const shown = await second.until(/all=\d+\./)
  const numbers = [...shown.matchAll(/^n(\d+) ü😀\r$/gm)].map(([, number]) => Number(number))
  t.same(
    numbers,
    Array.from(numbers, (_, index) => index + 1),
    'not a line is missing, no character is broken',
  )
  t.match(shown, new RegExp(`all=${numbers.length}\\.`))
  type(second, 'echo "again=$$ $(stty size)."\r')
  t.match(await second.until(/again=\d+ 30 100\./), new RegExp(`again=${pid} `), 'the same shell, of the new size')
  const others = await open(t, daemon.url, '?sessionId=other')
  type(others, 'echo "[$mine]"\r')
  await others.until(/\[other-25\]/)
  const reads = await open(t, daemon.url, '?sessionId=busy')
  const sum = execFileSync('/usr/bin/cksum', { input: typed, encoding: 'utf8' }).trim()
  await reads.until(new RegExp(`${sum}[^]*\\$ $`))
  // Its end is heard, although it is an earlier daemon's child.
  type(second, 'exit\r')
  t.equal((await once(second.socket, 'close'))[0], 1000)
  const anew = await open(t, daemon.url, '?sessionId=work')
  type(anew, 'echo "i=[$i]"\r')
  await anew.until(/i=\[\]/)
})

t.test('a shell that ends in the middle of it is gone afterwards, and its name is free', async t => {
  // It ends once the terminal is handed over: the new daemon waits before it begins.
  const wait = '[ -n "$HUTCH_REHEARSAL" ] || { : > "$HUTCH_STATE_DIR/../end"; sleep 1; }'
  const daemon = await upgradable(t, { slow: wait }, { SHELL: '/bin/sh', PS1: '$ ' })
  const first = await open(t, daemon.url)
  type(first, `x=old; until [ -e ${daemon.dir}/end ] || [ -e ${daemon.dir}/scratch/end ]; do sleep 0.01; done; exit\r`)
  await first.until(/x=old/)
  t.match(await daemon.upgrade('slow'), { upgradeCount: 1 })
  const second = await open(t, daemon.url)
  type(second, 'echo "x=[$x]"\r')
  await second.until(/x=\[\]/)
})
