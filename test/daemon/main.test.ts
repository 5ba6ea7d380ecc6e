/** The program itself: how it starts, and how it does not. */
import '../support/native.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { closeSync, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { scratchEnvironment } from '../../shared/bundle.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

const main = fileURLToPath(new URL('../../daemon/main.ts', import.meta.url))

/** Runs it until it ends by itself; answers its log, line by line, and its exit code. */
const run = async (dir: string, args: readonly string[]) => {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: dir,
    env: scratchEnvironment(dir),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const limit = setTimeout(() => child.kill('SIGKILL'), 120_000)
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  clearTimeout(limit)
  const lines = said.split('\n').filter(line => line.startsWith('{'))
  return { code, lines: lines.map(line => JSON.parse(line) as Record<string, unknown>) }
}

t.test('a port that is taken ends the daemon, and the command it had started', async t => {
  const taken = createServer().listen(0)
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  const { code, lines } = await run(t.testdir(), ['-p', String(port), '-c', 'exec sleep 1000'])
  t.equal(code, 1)
  t.match(lines.at(-1) ?? lines, { event: 'daemon.failed', error: { code: 'EADDRINUSE' } })
  const started = lines.find(({ event }) => event === 'command.started')
  t.type(started?.['pid'], 'number')
  for (const end = performance.now() + 60_000; existsSync(`/proc/${started?.['pid']}/exe`); ) {
    if (performance.now() > end) throw new Error('the command outlives its daemon')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
})

t.test('a flag that makes no sense ends it with a word on which', async t => {
  for (const [args, said] of [
    [['-p', 'many'], '-p: must be a port'],
    [['-verbose'], '-verbose: is not a flag of this program'],
    [['-user', 'nobody-of-that-name', '-p', '0'], /nobody-of-that-name/],
  ] as const) {
    const { code, lines } = await run(t.testdir(), args)
    t.equal(code, 1)
    t.match(
      lines.find(({ event }) => event === 'daemon.failed'),
      { error: { message: said } },
    )
  }
})

t.test('one whose words find no room goes on', async t => {
  const dir = t.testdir()
  const port = await freePort()
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [main, '-p', String(port)], {
    cwd: dir,
    env: scratchEnvironment(dir),
    stdio: ['ignore', 'ignore', full],
  })
  closeSync(full)
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(async () => child.exitCode !== null || (await answers()), 'its answer')
  t.ok(await answers())
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
})
