/**
 * The part of a record's life in which its image is made. A table takes these moves in, and `upload` to every status in which a new
 * image may be asked for.
 *
 * - `upload`: an upload is asked for       - `build`: all of it is here
 * - `built`: the image is there            - `shelved`: the same, of a record that is switched off
 * - `broke`: the upload did not come, or the build failed
 * - `redeploy`: something else of it changed meanwhile; the build goes on
 */
export const buildMoves = <const S extends string>(deployed: S) =>
  ({
    UPLOADING: {
      upload: 'UPLOADING',
      build: 'BUILDING',
      broke: 'FAILED',
      redeploy: 'UPLOADING',
      change: 'UPLOADING',
      delete: 'DELETING',
    },
    BUILDING: {
      upload: 'UPLOADING',
      built: deployed,
      shelved: 'DEACTIVATED',
      broke: 'FAILED',
      redeploy: 'BUILDING',
      change: 'BUILDING',
      delete: 'DELETING',
    },
  }) as const
