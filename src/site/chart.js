/** Charts as SVG. */

/**
 * @typedef {object} SparkClose
 * @property {string} date
 * @property {number} close
 * @property {boolean} [isBreak] levels before it are not comparable
 */

/**
 * @param {readonly SparkClose[]} closes
 * @param {string} to
 */
export const sparkline = (closes, to) =>
  `<svg class="spark" data-to="${to}" data-n="${closes.length}"></svg>`;
