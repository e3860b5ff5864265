/** The backbone's version, as in package.json (which would weigh on every bundle). */
export const VERSION = '0.1.0';
