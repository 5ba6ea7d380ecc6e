/** `make doctor`: says what this box can do and what to do about the rest. Exits with 1 when Hutch cannot run here. */
import { systemClock } from '../../shared/clock.ts'
import { loadConfig } from '../config.ts'
import { diagnose } from './diagnose.ts'
import { report } from './report.ts'

const { text, healthy } = report(await diagnose(loadConfig(process.env, process.cwd()), { clock: systemClock() }))
console.log(text)
process.exitCode = healthy ? 0 : 1
