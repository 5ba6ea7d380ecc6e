/**
 * A program in a file without a name. Tenants are root in the sandbox and could exchange a file between its check and
 * its start. A file that is in no directory can be reached only through our own descriptors, which tenants cannot open.
 */
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

// O_TMPFILE of open(2): the kernel's own bit plus O_DIRECTORY.
const tmpFile = 0o20000000 | constants.O_DIRECTORY

/** Opens an empty file in no directory, on the file system of `dir`. Throws EOPNOTSUPP where that has none. */
export const openAnonymous = (dir: string): Promise<FileHandle> => open(dir, tmpFile | constants.O_RDWR, 0o700)

/** The same file for reading only: one that is open for writing cannot be executed (ETXTBSY). */
export const reopenReadOnly = (file: FileHandle): Promise<FileHandle> => open(`/proc/self/fd/${file.fd}`, 'r')

/** The path of a program that is its process's standard input, which stays open over an exec. */
export const programPath = '/proc/self/fd/0'
