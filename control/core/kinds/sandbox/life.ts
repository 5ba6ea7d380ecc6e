import { stateTable } from '../../transitions/state-table.ts'

/**
 * The life of a sandbox. Standby is not a status: a sleeping sandbox is DEPLOYED.
 *
 * - `waiting`: what it is made from is not there yet
 * - `deployed`: its daemon answered         - `broke`: it cannot be made, and trying again will not help
 * - `lost`: its machine ended; started again with its files
 * - `redeploy`: its image, memory or environment changed; a new machine takes the place of the one it has
 * - `restart`: asked for; its machine is ended and started again with its files, one that could not be made is tried anew
 * - `disable` / `enable`: spec.enabled      - `delete`: asked for      - `expire`: one of its rules of expiry fired
 * - `gone`: nothing of it is left on the box
 */
export const sandboxLife = stateTable('DEPLOYING', {
  DEPLOYING: {
    waiting: 'DEPLOYING',
    deployed: 'DEPLOYED',
    broke: 'FAILED',
    redeploy: 'DEPLOYING',
    restart: 'DEPLOYING',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
    expire: 'DELETING',
  },
  DEPLOYED: {
    lost: 'DEPLOYING',
    redeploy: 'DEPLOYING',
    restart: 'DEPLOYING',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
    expire: 'DELETING',
  },
  FAILED: {
    redeploy: 'DEPLOYING',
    restart: 'DEPLOYING',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
    expire: 'DELETING',
  },
  DEACTIVATING: { gone: 'DEACTIVATED', enable: 'DEPLOYING', delete: 'DELETING', expire: 'DELETING' },
  DEACTIVATED: { enable: 'DEPLOYING', delete: 'DELETING', expire: 'DELETING' },
  DELETING: { gone: 'TERMINATED', delete: 'DELETING' },
  TERMINATED: { delete: 'TERMINATED' },
})
