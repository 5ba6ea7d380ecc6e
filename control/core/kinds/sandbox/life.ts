import { buildMoves } from '../../transitions/build-moves.ts'
import { stateTable } from '../../transitions/state-table.ts'

const made = buildMoves('DEPLOYING')

/**
 * The life of a sandbox. Standby is not a status: a sleeping sandbox is DEPLOYED.
 *
 * - `waiting`: what it is made from is not there yet
 * - `deployed`: its daemon answered         - `broke`: it cannot be made, and trying again will not help
 * - `lost`: its machine ended; started again with its files
 * - `redeploy`: its image, memory or environment changed; a new machine takes the place of the one it has
 * - `restart`: asked for; its machine is ended and started again with its files, one that could not be made is tried anew
 * - `disable` / `enable`: spec.enabled      - `delete`: asked for      - `expire`: one of its rules of expiry fired
 * - the rest of UPLOADING and BUILDING: `transitions/build-moves.ts`
 * - `gone`: nothing of it is left on the box
 */
export const sandboxLife = stateTable('DEPLOYING', {
  UPLOADING: { ...made.UPLOADING, disable: 'DEACTIVATING', expire: 'DELETING' },
  BUILDING: { ...made.BUILDING, disable: 'DEACTIVATING', expire: 'DELETING' },
  DEPLOYING: {
    upload: 'UPLOADING',
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
    upload: 'UPLOADING',
    lost: 'DEPLOYING',
    redeploy: 'DEPLOYING',
    restart: 'DEPLOYING',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
    expire: 'DELETING',
  },
  FAILED: {
    upload: 'UPLOADING',
    redeploy: 'DEPLOYING',
    restart: 'DEPLOYING',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
    expire: 'DELETING',
  },
  DEACTIVATING: { gone: 'DEACTIVATED', enable: 'DEPLOYING', delete: 'DELETING', expire: 'DELETING' },
  DEACTIVATED: { upload: 'UPLOADING', enable: 'DEPLOYING', delete: 'DELETING', expire: 'DELETING' },
  DELETING: { gone: 'TERMINATED', delete: 'DELETING' },
  TERMINATED: { delete: 'TERMINATED' },
})
