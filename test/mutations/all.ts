import { channelDefences } from './channel.ts'
import { daemonDefences } from './daemon.ts'
import type { Defence } from './defence.ts'
import { gatewayDefences } from './gateway.ts'
import { machineDefences } from './machine.ts'
import { ownFileDefences } from './own-files.ts'
import { policyDefences } from './policy.ts'
import { wallDefences } from './walls.ts'

export const allDefences: readonly Defence[] = [
  ...channelDefences,
  ...daemonDefences,
  ...gatewayDefences,
  ...machineDefences,
  ...ownFileDefences,
  ...policyDefences,
  ...wallDefences,
]
