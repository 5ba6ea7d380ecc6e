/** Part 2: the log stream and the stream of a command, parsed as strictly as clients parse. */
import type { Test } from 'tap'
import { ask, fresh, open, linesOf, started, stream, type Target } from './target.ts'

interface Event {
  readonly type: string
  readonly data?: string
}

/** Every line ended by a newline is JSON; nothing may be left over. */
const parse = (text: string): Event[] => {
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new Error('the stream ends within a line')
  return lines.map(line => JSON.parse(line) as Event)
}

const joined = (events: readonly Event[], type: string): string =>
  events
    .filter(event => event.type === type)
    .map(({ data }) => data)
    .join('')

const asEvents = { accept: 'text/event-stream' }

export const streams = async (t: Test, target: Target): Promise<void> => {
  const exec = async (t: Test, body: Record<string, unknown>) => {
    const message = await open(target, 'POST', '/process', { body, headers: asEvents })
    return { message, text: await linesOf(t, message).ended }
  }

  await t.test('lines come while they are written, each with its prefix', async t => {
    const name = fresh('ticks')
    await started(t, target, { command: 'for i in 1 2 3 4 5; do echo tick $i; sleep 0.05; done; exec sleep 300', name })
    const lines = await stream(t, target, `/process/${name}/logs/stream`)
    t.match(lines.message.headers, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    await lines.find(line => line === 'stdout:tick 5', 'the fifth tick')
    t.equal(lines.text(), 'stdout:tick 1\nstdout:tick 2\nstdout:tick 3\nstdout:tick 4\nstdout:tick 5\n')
    await ask(target, 'DELETE', `/process/${name}/kill`)
    const rest = (await lines.ended).slice(lines.text().indexOf('tick 5\n') + 7)
    t.notMatch(rest, /std(out|err):/, 'what else there is are notices')
  })

  await t.test('nothing is lost, nothing comes twice', async t => {
    for (const command of ['echo one', 'echo one; echo two >&2; echo three', 'printf "no newline"']) {
      const name = fresh('short')
      await started(t, target, { command, name })
      const text = await (await stream(t, target, `/process/${name}/logs/stream`)).ended
      const again = (await ask(target, 'GET', `/process/${name}/logs/stream`)).text
      t.equal(text, again, command)
      for (const word of command.match(/one|two|three|no newline/g) ?? []) t.equal(text.split(word).length, 2, word)
    }
  })

  await t.test('long lines arrive whole and on their own side', async t => {
    for (const side of ['stdout', 'stderr']) {
      const name = fresh('long')
      const command = `for c in a b c; do head -c 5000 /dev/zero | tr '\\0' $c; echo; done${side === 'stderr' ? ' >&2' : ''}`
      await started(t, target, {
        command: side === 'stderr' ? `{ ${command.replace(' >&2', '')}; } >&2` : command,
        name,
      })
      const text = await (await stream(t, target, `/process/${name}/logs/stream`)).ended
      t.equal(text, ['a', 'b', 'c'].map(letter => `${side}:${letter.repeat(5_000)}\n`).join(''))
    }
  })

  await t.test('a command as events', async t => {
    const name = fresh('exec')
    const command = 'echo out; echo err >&2; printf "é"; exit 42'
    const { message, text } = await exec(t, { command, name })
    t.equal(message.statusCode, 200)
    t.equal(message.headers['content-type'], 'application/x-ndjson')
    const events = parse(text)
    t.equal(joined(events, 'stdout'), 'out\né')
    t.equal(joined(events, 'stderr'), 'err\n')
    t.equal(events.at(-1)?.type, 'result')
    const result = JSON.parse(events.at(-1)?.data ?? '')
    t.match(result, { name, pid: /^\d+$/, status: 'failed', exitCode: 42, stdout: 'out\né', stderr: 'err\n' })
    t.equal(result.logs, 'out\néerr\n')
  })

  await t.test('events come while the command runs, and a lost client only detaches', async t => {
    const name = fresh('detach')
    const body = { command: 'echo first; exec sleep 300', name }
    const lines = linesOf(t, await open(target, 'POST', '/process', { body, headers: asEvents }))
    t.teardown(() => ask(target, 'DELETE', `/process/${name}/kill`).then(() => undefined))
    await lines.find(line => JSON.parse(line).type === 'stdout', 'the first output')
    lines.close()
    t.match((await ask(target, 'GET', `/process/${name}`)).body, { status: 'running', stdout: 'first\n' })
  })

  await t.test('errors of a stream', async t => {
    const bad = await open(target, 'POST', '/process', { body: {}, headers: asEvents })
    t.equal(bad.statusCode, 400)
    t.match(bad.headers['content-type'], /^application\/json/)
    bad.destroy()
    const { message, text } = await exec(t, { command: 'true', workingDir: '/no/such' })
    t.equal(message.statusCode, 200)
    t.match(parse(text), [{ type: 'error', data: /does not exist/ }])
    t.equal(parse(text).length, 1, 'no result follows')
  })
}
