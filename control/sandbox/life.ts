import { lifecycle } from '../reconcile/state-table.ts'

/**
 * The life of a sandbox. Standby is not a status: a sleeping sandbox is DEPLOYED.
 *
 * - `deployed`: its daemon answered        - `broke`: it cannot be made, and trying again will not help
 * - `lost`: its machine is gone; made anew  - `disable` / `disabled` / `enable`: spec.enabled
 * - `delete`: asked for, or an expiry rule fired     - `gone`: nothing of it is left on the box
 */
export const sandboxLife = lifecycle('DEPLOYING', {
  DEPLOYING: { deployed: 'DEPLOYED', broke: 'FAILED', delete: 'DELETING', disable: 'DEACTIVATING' },
  DEPLOYED: { lost: 'DEPLOYING', redeploy: 'DEPLOYING', broke: 'FAILED', delete: 'DELETING', disable: 'DEACTIVATING' },
  FAILED: { delete: 'DELETING', redeploy: 'DEPLOYING', disable: 'DEACTIVATING' },
  DEACTIVATING: { disabled: 'DEACTIVATED', delete: 'DELETING' },
  DEACTIVATED: { enable: 'DEPLOYING', delete: 'DELETING' },
  DELETING: { delete: 'DELETING', gone: 'TERMINATED' },
  TERMINATED: { delete: 'TERMINATED' },
})

export type SandboxStatus = (typeof sandboxLife)['initial']
