import { buildMoves } from '../transitions/build-moves.ts'
import { stateTable } from '../transitions/state-table.ts'

const made = buildMoves('DEPLOYING')

/**
 * The life of a record whose machines serve calls. A machine that sleeps, or was removed because nobody called, leaves it DEPLOYED.
 *
 * - `waiting`: what it is made from is not there yet
 * - `deployed`: the revision that is to serve is ready     - `broke`: it cannot be made, or is not ready in time
 * - `deploy`: another revision is to serve                 - `change`: what the record says changed, and nothing of what serves
 * - `disable` / `enable`: spec.enabled                     - `delete`: asked for
 * - `upload`, and the rest of UPLOADING and BUILDING: `transitions/build-moves.ts`
 * - `gone`: nothing of it is left on the box
 *
 * While a revision is uploaded, built, deployed or has failed, the one that served before goes on to serve.
 */
export const servedLife = stateTable('DEPLOYING', {
  UPLOADING: { ...made.UPLOADING, deploy: 'DEPLOYING', disable: 'DEACTIVATING' },
  BUILDING: { ...made.BUILDING, deploy: 'DEPLOYING', disable: 'DEACTIVATING' },
  DEPLOYING: {
    waiting: 'DEPLOYING',
    deployed: 'DEPLOYED',
    broke: 'FAILED',
    upload: 'UPLOADING',
    deploy: 'DEPLOYING',
    change: 'DEPLOYING',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
  },
  DEPLOYED: {
    upload: 'UPLOADING',
    deploy: 'DEPLOYING',
    change: 'DEPLOYED',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
  },
  FAILED: {
    upload: 'UPLOADING',
    deploy: 'DEPLOYING',
    change: 'FAILED',
    disable: 'DEACTIVATING',
    delete: 'DELETING',
  },
  DEACTIVATING: { gone: 'DEACTIVATED', change: 'DEACTIVATING', enable: 'DEPLOYING', delete: 'DELETING' },
  DEACTIVATED: { upload: 'UPLOADING', change: 'DEACTIVATED', enable: 'DEPLOYING', delete: 'DELETING' },
  DELETING: { delete: 'DELETING' },
})
