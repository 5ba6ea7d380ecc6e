/** `hutch doctor`: says what this machine can do and what to do about the rest. */
import { systemClock } from '../../shared/clock.ts'
import { command } from '../../shared/installation.ts'
import { loadConfig } from '../config.ts'
import { diagnose } from '../doctor/diagnose.ts'
import { imageTools } from '../doctor/image-tools.ts'
import { report } from '../doctor/report.ts'
import type { Invocation } from './command.ts'
import { needRoot } from './root.ts'

/** 1 when Hutch cannot run here as configured. */
export const run = async ({ env, cwd, say }: Invocation): Promise<number> => {
  needRoot('the doctor tries namespaces, mounts and firewall rules', command('doctor'))
  const { text, healthy } = report(await diagnose(loadConfig(env, cwd), { clock: systemClock() }), imageTools())
  say(text)
  return healthy ? 0 : 1
}
