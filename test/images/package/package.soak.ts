/** Each npm with and without its scripts. */
import './package.test.ts'
