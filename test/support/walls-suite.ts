/** Root of a sandbox tries to become more, to see the box and to take what others need: the table of test/programs/walls.py. */
import type { Test } from 'tap'
import type { Server } from './server.ts'

/** What the server's box is called while it runs: a short name would be part of other words. */
export const nameOfBox = 'box-of-the-operator-7f3a'

type Run = (command: string) => Promise<string>

/** What the runtime lets root do to a kernel that is the sandbox's own, by the beginnings of families and names. */
const ownKernel: Readonly<Record<'runc' | 'runsc', readonly string[]>> = {
  runc: [],
  runsc: [
    ...[0x2_00_00, 0x2_00_00_00, 0x10_00_00_00, 0x80].map(flag => `privileges:unshare-${flag}`),
    // It is slow at starting programs: ten of them are enough.
    // The filter is the kernel's of runc.
    'privileges:system-call',
    'privileges:socket',
    ...[1, 3, 4].map(digit => `privileges:capability-of-a-file-${digit}`),
  ],
}

const quoted = (texts: readonly string[]): string => texts.map(text => `'${text}'`).join(' ')

export const triesOfWalls = (t: Test, { dataDir, names }: Server, run: Run, runtime: 'runc' | 'runsc') =>
  t.test('root gains nothing, sees nothing of the box and raises no bound', async t => {
    const secrets = [dataDir, names.tag, nameOfBox].map(text => `TEXT=${Buffer.from(text).toString('hex')}`)
    const found = JSON.parse(await run(`python3 /root/walls.py ${quoted([...ownKernel[runtime], ...secrets])}`))
    t.same(Object.keys(found), ['privileges', 'host view', 'shared tables'])
    for (const [family, { tried, worked }] of Object.entries<{ tried: number; worked: string[] }>(found)) {
      t.ok(tried >= 60, `${family}: ${tried} attempts`)
      t.same(worked, [], family)
    }
    const own = JSON.parse(
      await run(
        "python3 /root/walls.py privileges: 'shared tables:' TEXT=$(hostname | tr -d '\\n' | od -An -v -tx1 | tr -d ' \\n')",
      ),
    )['host view'].worked
    t.ok(own.includes('box-sys/kernel/hostname'), 'what names the box would be noticed')
  })

/** Adds a process to the daemon's journal, changes another there, and ends the daemon. */
const forges = `import json, os
path = '/var/lib/hutchd/state/processes/processes.jsonl'
lines = open(path).read().splitlines()
real = next(line for line in lines if '"real"' in line)
lines = [line.replace('exit 3', 'forged') if '"changed"' in line else line for line in lines]
lines.append(json.dumps(dict(json.loads(real), id=900, pid=900, name='forged', logKey='forged')))
open(path, 'w').write('\\n'.join(lines) + '\\n')
os.kill(1, 9)
`

/** What gVisor does not keep root from: it ends its own sandbox, which is there again with its files, and nobody else's. */
export const endingOfDaemon = (t: Test, s: Server, url: string, run: Run) =>
  t.test('root who ends the daemon has a sandbox again, with its files', async t => {
    const health = async () => (await s.call('GET', `${url}/health`)).body
    const { startedAt } = await health()
    await run('echo kept > /kept')
    for (const name of ['real', 'changed'])
      await s.call('POST', `${url}/process`, { command: 'exit 3', name, waitForCompletion: true })
    await s.call('PUT', `${url}/filesystem/%2Froot%2Fforges.py`, { content: forges })
    await s.call('POST', `${url}/process`, { command: 'exec python3 /root/forges.py' })
    await s.until('a', ({ status, errors }) => status === 'DEPLOYED' && errors?.length > 0)
    t.match((await s.call('GET', '/v0/sandboxes/a')).body.errors, [{ code: 'MACHINE_LOST', fatal: false }])
    t.equal(await run('cat /kept'), 'kept\n')
    t.not((await health()).startedAt, startedAt, 'it is another daemon')
    const listed = (await s.call('GET', `${url}/process`)).body as { name: string; command: string; exitCode: number }[]
    t.match(
      listed.filter(({ name }) => name === 'real'),
      [{ command: 'exit 3', exitCode: 3 }],
      'it knows the processes that were',
    )
    const forged = listed.filter(({ name, command }) => [name, command].includes('forged'))
    t.same(forged, [], 'and none that never were')
  })
