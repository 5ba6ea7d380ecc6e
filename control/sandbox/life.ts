import { stateTable } from '../reconcile/state-table.ts'

/**
 * The life of a sandbox. Standby is not a status: a sleeping sandbox is DEPLOYED.
 *
 * - `waiting`: what it is made from is not there yet
 * - `deployed`: its daemon answered         - `broke`: it cannot be made, and trying again will not help
 * - `lost`: its machine ended; started again with its files
 * - `redeploy`: its image, memory or environment changed; a new machine takes the place of the one it has
 * - `disable` / `enable`: spec.enabled      - `delete`: asked for      - `expire`: one of its rules of expiry fired
 * - `gone`: nothing of it is left on the box
 */
export const sandboxLife = stateTable('DEPLOYING', {
  DEPLOYING: {
    waiting: 'DEPLOYING',
    deployed: 'DEPLOYED',
    broke: 'FAILED',
    redeploy: 'DEPLOYING',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
    expire: 'DELETING',
  },
  DEPLOYED: {
    lost: 'DEPLOYING',
    redeploy: 'DEPLOYING',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
    expire: 'DELETING',
  },
  FAILED: { redeploy: 'DEPLOYING', disable: 'DEACTIVATING', delete: 'DELETING', expire: 'DELETING' },
  DEACTIVATING: { gone: 'DEACTIVATED', enable: 'DEPLOYING', delete: 'DELETING', expire: 'DELETING' },
  DEACTIVATED: { enable: 'DEPLOYING', delete: 'DELETING', expire: 'DELETING' },
  DELETING: { gone: 'TERMINATED', delete: 'DELETING' },
  TERMINATED: { delete: 'TERMINATED' },
})
