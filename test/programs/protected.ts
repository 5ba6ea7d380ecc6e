/** A process that protects itself as the daemon does; says `ready`, then one line per SIGTERM; a line on stdin is answered. */
import { createInterface } from 'node:readline'
import { guardStopSignals, protectDaemon } from '../../daemon/init/protect.ts'
import { silentLog } from '../../shared/log.ts'

protectDaemon({ log: silentLog, pid: 1 })
process.on('SIGTERM', () => console.log('SIGTERM'))
guardStopSignals(1)
createInterface({ input: process.stdin }).on('line', line => {
  if (line === 'self') process.kill(process.pid, 'SIGTERM')
  else console.log(line)
})
console.log('ready')
