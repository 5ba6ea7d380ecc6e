/** `make demo`: a host of its own on a free port, the story, and everything cleaned up again. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../shared/clock.ts'
import { messageOf } from '../../../shared/errors.ts'
import { isError, openHost, type Hutch } from '../../index.ts'
import { story } from './story.ts'

const clock = systemClock()
const say = (line: string) => void process.stdout.write(`${line}\n`)

/** What failed half-way leaves no sandbox behind either. */
const clear = async (hutch: Hutch): Promise<void> => {
  try {
    await hutch.sandboxes.delete('demo')
    while ((await hutch.sandboxes.get('demo')).status !== 'TERMINATED') await clock.sleep(50)
  } catch (error) {
    if (!isError(error, 'not_found')) throw error
  }
}

const run = async (): Promise<void> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'hutch-demo-'))
  const hutch = await openHost({ dataDir, port: 0, standbyAfterMs: 1_000 })
  try {
    const { url } = await hutch.listen()
    say(`hutch demo: the host serves on ${url}`)
    await story({ url, key: hutch.adminKey, clock, say })
  } finally {
    await clear(hutch)
    await hutch.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

run().catch(error => {
  process.stderr.write(`hutch demo: ${messageOf(error)}\n`)
  process.exitCode = 1
})
