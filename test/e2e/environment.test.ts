/** The largest environment that a sandbox and a process may have, and the first that they may not. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const pieces = (letter: string, bytes: number, each: number): [string, string][] =>
  Array.from({ length: Math.floor(bytes / each) }, (_, at) => {
    const name = `${letter}${String(at).padStart(3, '0')}`
    return [name, letter.repeat(each - name.length - 10)]
  })

/** A single variable of the most bytes, and others up to all that a sandbox may have. */
const most: [string, string][] = [['BIG', 'b'.repeat(131_072 - 5)], ...pieces('S', 1_048_576 - 131_080, 4_096)]
const envsOf = (all: readonly [string, string][]) => all.map(([name, value]) => ({ name, value }))
const spec = (envs: readonly object[]) => ({ runtime: { image: 'svc/busybox:latest', memory: 256, envs } })

t.test('what is accepted can be run with, and what cannot be run with is refused by its field', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '600' })
  const put = (method: string, target: string, envs: readonly object[]) =>
    s.call(method, target, { metadata: { name: 'env' }, spec: spec(envs) })
  const oneMore = envsOf([...most, ['EXTRA', 'x'.repeat(4_096)]])
  const refused = await put('POST', '/v0/sandboxes', oneMore)
  t.match({ status: refused.status, text: refused.text }, { status: 400, text: /spec.runtime.envs: all variables/ })
  const made = await put('POST', '/v0/sandboxes', envsOf(most))
  t.equal(made.status, 200, made.text)
  const box = made.body.metadata.url
  const env = Object.fromEntries(pieces('P', 524_288, 4_096))
  const command = `: ${'c'.repeat(100_000)}; env | wc -c`
  const ran = await s.call('POST', `${box}/process`, { command, env, waitForCompletion: true })
  t.match(ran, { status: 200, body: { status: 'completed' } })
  t.ok(Number(ran.body.stdout) > 1_500_000, ran.body.stdout)
  const tooMuch = { ...env, EXTRA: 'x'.repeat(4_096) }
  const noProcess = await s.call('POST', `${box}/process`, { command: 'true', env: tooMuch, waitForCompletion: true })
  t.match({ status: noProcess.status, text: noProcess.text }, { status: 400, text: /env: all variables/ })
  const update = await put('PUT', '/v0/sandboxes/env', oneMore)
  t.match({ status: update.status, text: update.text }, { status: 400, text: /spec.runtime.envs: all variables/ })
  const odd = 'odd.name (x86)%%'
  t.equal((await put('PUT', '/v0/sandboxes/env', [{ name: odd, value: 'yes' }])).status, 200, 'one rule for names')
  const seen = await s.call('POST', `${box}/process`, {
    // What the shell was given: it hands on no names that it could not say itself.
    command: 'cat /proc/$$/environ; true',
    env: { [`${odd}2`]: 'too' },
    waitForCompletion: true,
  })
  t.ok(seen.body.stdout.includes(`${odd}=yes\0`) && seen.body.stdout.includes(`${odd}2=too\0`), 'both are there')
})
