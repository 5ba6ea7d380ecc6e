import t from 'tap'
import { runProcess, type ProcessInput } from '../../../../../control/drivers/oci/process/run-process.ts'

const signal = new AbortController().signal
const shell = (script: string, more: Partial<ProcessInput> = {}) =>
  runProcess({ file: '/bin/sh', args: ['-c', script], env: {}, capture: true, session: true, signal, ...more })

t.test('what it reads, writes and ends with', async t => {
  t.match(await shell('cat; echo bad >&2; exit 3', { input: 'in\0\u00e9' }), {
    errno: 0,
    code: 3,
    signal: undefined,
    output: 'in\0\u00e9',
    said: 'bad\n',
  })
  t.equal((await shell('cat')).output, '', 'without an input there is nothing to read')
  t.equal((await shell('echo "$A,$HOME"', { env: { A: 'b c' } })).output, 'b c,\n', 'only the environment it was given')
  t.equal((await shell('echo lost', { capture: false })).output, '')
  t.equal((await shell('head -c 17000000 /dev/zero')).output.length, 16 * 1024 * 1024)
})

t.test('a program that is not there, and one that a signal ended', async t => {
  t.match(await shell('', { file: '/bin/not-there' }), { errno: 2, code: 0, signal: undefined })
  t.match(await shell('kill -TERM $$'), { errno: 0, signal: 'SIGTERM' })
  // Node ignores this one; nothing that the server ignores is ignored by what it runs.
  t.match(await shell('kill -PIPE $$'), { signal: 'SIGPIPE' })
})

t.test('a text that a program would see the beginning of only is none', async t => {
  await t.rejects(async () => shell('true\0 more'), { message: 'start: wrong arguments' })
  await t.rejects(async () => shell('true', { env: { A: 'b\0c' } }), { message: 'start: wrong arguments' })
})

t.test('a session of its own, or that of the server', async t => {
  const script = 'read -r _ _ _ _ _ session _ < /proc/$$/stat; [ "$session" = $$ ] && echo own || echo shared'
  t.equal((await shell(script)).output, 'own\n')
  t.equal((await shell(script, { session: false })).output, 'shared\n')
})

t.test('whoever wants it no more kills it, also before it runs', async t => {
  const unwanted = new AbortController()
  const running = shell('echo begun > "$F"; exec sleep 100', { signal: unwanted.signal, env: { F: '/dev/null' } })
  setTimeout(() => unwanted.abort(), 20)
  t.match(await running, { signal: 'SIGKILL' })
  t.match(await shell('sleep 100', { signal: AbortSignal.abort() }), { signal: 'SIGKILL' })
})

t.test('many at once', async t => {
  const ends = await Promise.all(Array.from({ length: 100 }, (_, at) => shell(`echo ${at}; exit ${at % 7}`)))
  t.same(
    ends.map(({ code, output }) => [code, output]),
    ends.map((_, at) => [at % 7, `${at}\n`]),
  )
})
