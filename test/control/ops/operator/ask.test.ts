/** A command that asks a server which is killed at the wrong moment has done nothing, and says so. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { stripArguments } from '../../../support/coverage.ts'
import { startCommand } from '../../../support/command.ts'

/** Holds the directory, and is too busy to hear whoever connects: what comes is unread when it is killed. */
const busyHolder = (dataDir: string): string => `
  import { claimDataDir } from ${JSON.stringify(new URL('../../../../control/base/one-host.ts', import.meta.url).href)}
  await claimDataDir(${JSON.stringify(dataDir)})
  process.stdout.write('held', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
`

t.test('killed after it was reached and before it was asked', async t => {
  const dataDir = realpathSync(t.testdir({ 'hutch.db': '' }))
  const key = join(dataDir, 'admin-key')
  // Who opens it to read waits for who opens it to write: the command has its connection by then.
  execFileSync('mkfifo', [key])
  const holder = spawn(process.execPath, [
    ...stripArguments,
    '--input-type=module-typescript',
    '-e',
    busyHolder(dataDir),
  ])
  t.teardown(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  const { ended } = startCommand(['backup', join(dataDir, 'copy.tar')], { HUTCH_DATA_DIR: dataDir })
  const writer = await open(key, 'w')
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  await writer.writeFile('key')
  await writer.close()
  t.match(await ended, { code: 1, out: '', error: /^hutch: the server has ended or is about to begin; try again/m })
})
