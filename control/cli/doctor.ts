/** `hutch doctor`: says what this machine can do and what to do about the rest. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../shared/clock.ts'
import { messageOf } from '../../shared/errors.ts'
import { command } from '../../shared/installation.ts'
import { loadConfig } from '../base/config.ts'
import { diagnose } from '../ops/doctor/diagnose.ts'
import { imageTools } from '../ops/doctor/image-tools.ts'
import { recordFindings } from '../ops/doctor/records.ts'
import { report } from '../ops/doctor/report.ts'
import type { Finding } from '../drivers/driver.ts'
import type { Invocation } from './command.ts'
import { withExistingStore } from './existing-store.ts'
import { needRoot } from './root.ts'

/** Of a server that has been here; of none, nothing. */
const recordsIn = async (dataDir: string): Promise<readonly Finding[]> => {
  if (!existsSync(join(dataDir, 'hutch.db'))) return []
  try {
    let found: readonly Finding[] = []
    await withExistingStore(dataDir, async store => {
      found = await recordFindings(store)
    })
    return found
  } catch (error) {
    return [
      {
        ok: false,
        what: `it cannot be opened: ${messageOf(error)}`,
        next: 'start a server of this build, or restore a backup',
      },
    ]
  }
}

/** 1 when Hutch cannot run here as configured. */
export const run = async ({ env, cwd, say }: Invocation): Promise<number> => {
  needRoot('the doctor tries namespaces, mounts and firewall rules', command('doctor'))
  const config = loadConfig(env, cwd)
  const diagnoses = await diagnose(config, { clock: systemClock() })
  const { text, healthy } = report(diagnoses, imageTools(), await recordsIn(config.dataDir))
  say(text)
  return healthy ? 0 : 1
}
