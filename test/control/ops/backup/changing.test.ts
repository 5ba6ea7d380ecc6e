/** Files of a machine that change while they are read, as those of one that has just ended do, are read again. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backUp, type BackupDeps } from '../../../../control/ops/backup/backup.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { unpack } from '../../../../control/ops/backup/archive.ts'
import { instanceOf, record } from '../../../support/records.ts'

/** Large enough that what is written all the time is written while it is read. */
const bytes = 32 * 1024 * 1024

/** A backup of one machine whose file somebody writes to while it stands still, the first `times`. */
const backedUp = async (t: Test, times: number) => {
  const dir = t.testdir({ data: { 'secret-key': '', machines: { m: {} } }, copy: {} })
  const file = join(dir, 'data/machines/m/disk.img')
  writeFileSync(file, Buffer.alloc(bytes, 'x'))
  const instance = instanceOf(record({ name: 'box' }), { id: 'm', status: 'running', startedAt: 1 })
  let stood = 0
  const deps = {
    dataDir: join(dir, 'data'),
    imagesDir: join(dir, 'images'),
    store: {
      instances: { get: async () => instance, every: async () => [instance] },
      meter: { checkpoint: async () => {} },
      upkeep: { copyTo: async (path: string) => writeFileSync(path, 'database') },
    },
    drivers: { need: () => ({ keeper: { filesOf: async () => ['machines/m/disk.img'] } }) },
    async still(_id: string, step: () => Promise<void>) {
      if (++stood > times) return step()
      const line = `while :; do printf y | dd of='${file}' conv=notrunc status=none; echo; done`
      const writer = spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(writer.stdout, 'data')
      writer.stdout.resume()
      try {
        await step()
      } finally {
        writer.kill('SIGKILL')
        await once(writer, 'exit')
      }
    },
    clock: { ...systemClock(), sleep: async () => {} },
  } as unknown as BackupDeps
  const to = join(dir, 'backup.tar')
  const done = backUp(deps, { to, say: () => {}, signal: new AbortController().signal })
  return { done, to, copy: join(dir, 'copy'), stood: () => stood }
}

t.test('until they stand still', async t => {
  const { done, to, copy, stood } = await backedUp(t, 2)
  t.match(await done, { machines: 1 })
  t.equal(stood(), 3)
  t.ok(statSync(to).size < 2 * bytes, 'once in the archive')
  await unpack(to, copy)
  t.equal(readFileSync(join(copy, 'machines/m/disk.img')).length, bytes)
})

t.test('or the backup says which, and that it may be tried again', async t => {
  const { done, stood } = await backedUp(t, 99)
  await t.rejects(done, {
    code: 'busy',
    message: /files of m: tar: machines\/m\/disk\.img: file changed as we read it; try again/,
  })
  t.equal(stood(), 5)
})
