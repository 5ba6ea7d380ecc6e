import BetterSqlite from 'better-sqlite3'
import { fail } from '../../../../shared/errors.ts'
import { translate } from './transact.ts'

/**
 * Looks whether a database file is whole and puts other directories into the places of images. Throws `unavailable` when it is not
 * whole.
 */
export const adaptCopy = async (
  path: string,
  moved: readonly { readonly from: string; readonly to: string }[],
): Promise<void> => {
  let db: BetterSqlite.Database | undefined
  try {
    db = new BetterSqlite(path, { fileMustExist: true })
    const said = db.pragma('integrity_check', { simple: true })
    if (said !== 'ok')
      throw fail('unavailable', { what: `the database is damaged (${String(said)})`, next: 'take another copy' })
    // A row that cannot be read stays as it is. Not by AND: SQLite may look at the operands in either order.
    const move = db.prepare(
      `UPDATE instances SET image = json_set(image, '$.rootfs', @to || substr(image ->> '$.rootfs', length(@from) + 1))
       WHERE CASE WHEN json_valid(image) THEN substr(image ->> '$.rootfs', 1, length(@from) + 1) = @from || '/' END`,
    )
    db.transaction(() => {
      for (const one of moved) move.run(one)
    })()
  } catch (error) {
    throw translate(error)
  } finally {
    db?.close()
  }
}
