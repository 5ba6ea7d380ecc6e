/** How processes of a real sandbox end: the kernel's own kills are told from those of anybody else. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

t.test('a process that needs more memory than the sandbox has is said to have', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '600' })
  const spec = { runtime: { image: 'svc/busybox:latest', memory: 256 } }
  const made = await s.call('POST', '/v0/sandboxes', { metadata: { name: 'ends' }, spec })
  t.equal(made.status, 200, made.text)
  const box = made.body.metadata.url
  const run = async (command: string) =>
    (await s.call('POST', `${box}/process`, { command, waitForCompletion: true })).body
  const greedy = `dd if=/dev/zero of=/dev/null bs=400M count=1`
  const bounded = { reason: 'out_of_memory', limit: { memoryBytes: 256 * 1024 * 1024 } }
  const exec = await run(`exec ${greedy}`)
  t.match(exec, { status: 'failed', exitCode: -1, signal: 'SIGKILL', ...bounded })
  t.ok(exec.peakMemoryBytes > 64 * 1024 ** 2 && exec.peakMemoryBytes <= 256 * 1024 ** 2, String(exec.peakMemoryBytes))
  t.match(await run(`${greedy}; exit $?`), { status: 'failed', exitCode: 137, signal: undefined, ...bounded })
  t.match(await run('kill -9 $$'), { status: 'failed', exitCode: -1, signal: 'SIGKILL', reason: 'signal' })
  t.match(await run('kill -SEGV $$'), { status: 'failed', exitCode: -1, signal: 'SIGSEGV', reason: 'signal' })
})
