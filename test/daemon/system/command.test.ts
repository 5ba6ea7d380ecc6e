import { existsSync, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Log } from '../../../shared/log.ts'
import { silentLog } from '../../../shared/log.ts'
import { nothingInherited } from '../../../daemon/upgrade/handover.ts'
import { daemon } from '../../support/daemon.ts'

/** A log that lets a test wait for one of its lines. */
const heard = () => {
  const seen: { event: string; fields: Record<string, unknown> }[] = []
  let look = () => {}
  const note = (event: string, fields: object = {}) => {
    seen.push({ event, fields: fields as Record<string, unknown> })
    look()
  }
  const log: Log = { ...silentLog, info: note, error: note, with: () => log }
  const line = (event: string) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error(`${event} was never logged`)), 30_000)
      look = () => {
        const found = seen.find(one => one.event === event)
        if (!found) return
        clearTimeout(limit)
        resolve(found.fields)
      }
      look()
    })
  return { log, line }
}

/** Resolves when `path` exists. */
const appears = (t: Test, dir: string, name: string): Promise<void> =>
  new Promise(resolve => {
    const watcher = watch(dir, () => {
      if (existsSync(join(dir, name))) done()
    })
    const done = () => {
      watcher.close()
      resolve()
    }
    t.teardown(() => watcher.close())
    if (existsSync(join(dir, name))) done()
  })

t.test('runs in / with the environment of the sandbox, is not listed, and its end stops nothing', async t => {
  const { log, line } = heard()
  const { call, dir } = await daemon(t, {
    argv: ['-c', 'pwd > "$WORKDIR/out"; echo $MARK >> "$WORKDIR/out"; exit 3'],
    env: { MARK: 'm' },
    log,
  })
  t.match(await line('command.ended'), { exitCode: 3 })
  t.equal(await readFile(join(dir, 'out'), 'utf8'), '/\nm\n')
  t.equal((await call('GET', '/health')).status, 200)
  t.same((await call('GET', '/process')).body, [])
})

/** Resolves when the process has ended, whether or not somebody has waited for it. */
const ended = async (pid: number): Promise<void> => {
  const limit = Date.now() + 30_000
  while (Date.now() < limit) {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '0 (gone) Z')
    if (/\) [ZX]/.test(stat)) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`${pid} still runs`)
}

t.test('ends with the daemon, children too', async t => {
  const { log, line } = heard()
  const command = 'sleep 1000 & echo $! > "$WORKDIR/child"; touch "$WORKDIR/up"; wait'
  const { close, dir } = await daemon(t, { argv: ['-c', command], log })
  await appears(t, dir, 'up')
  const { pid } = await line('command.started')
  const child = Number(await readFile(join(dir, 'child'), 'utf8'))
  await close()
  await Promise.all([ended(Number(pid)), ended(child)])
  t.pass('the whole group is gone')
})

t.test('a shell that does not exist is logged and stops nothing', async t => {
  const { log, line } = heard()
  const { call } = await daemon(t, { argv: ['-c', 'true'], env: { SHELL: '/no/such/shell' }, log })
  t.match(await line('command.failed'), { error: /shell/ })
  t.equal((await call('GET', '/health')).status, 200)
})

t.test('an entrypoint is a process of the API, started with the machine and not by a later daemon', async t => {
  const words = ['sh', '-c', 'echo "$0" in $(pwd); exit 3', "it's $HOME"]
  const env = { HUTCH_ENTRYPOINT: JSON.stringify(words) }
  const { call } = await daemon(t, { env })
  const look = async () => (await call('GET', '/process/entrypoint')).body
  while ((await look()).restartCount < 1) await new Promise(resolve => setTimeout(resolve, 20))
  t.match(await look(), { name: 'entrypoint', restartOnFailure: true, maxRestarts: 5, env: undefined })
  t.match((await call('GET', '/process/entrypoint/logs')).body.stdout, `it's $HOME in ${process.cwd()}\n`)
  await call('DELETE', '/process/entrypoint/kill')

  const lastUpgrade = { status: 'completed', step: 'completed', version: 'latest' } as const
  const later = await daemon(t, { env, inherited: { ...nothingInherited, lastUpgrade } })
  t.same((await later.call('GET', '/process')).body, [])
  const wrong = await daemon(t, { env: { HUTCH_ENTRYPOINT: '{"no":"list"}' } })
  t.same((await wrong.call('GET', '/process')).body, [])
})
