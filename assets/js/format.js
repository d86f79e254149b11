/* Quantities with their units as people read them: the twin of core/units.py, to the last digit.
   tests/shared/format.json has the cases that both write alike. What is unknown (null, NaN) is a dash. */
(function () {
  "use strict";
  const KIB = 1024, MIB = 1024 ** 2, GIB = 1024 ** 3;
  const DASH = "–", MINUS = "−";

  /** @param {Quantity} value @returns {value is number} */
  const known = (value) => typeof value === "number" && Number.isFinite(value);
  /** @param {number} value */
  const sign = (value) => (value < 0 ? MINUS : "");
  /** @param {string} digits */
  const grouped = (digits) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");

  /**
   * A size with this many decimals, as Python writes it. toFixed rounds a tie up and Python to the even digit; a
   * tie has exactly one binary place more than it has decimals, so it is detected exactly. Beyond 10²¹ toFixed
   * writes powers of ten, where every number has been whole since 2⁵³.
   * @param {number} size @param {number} digits
   */
  function fixed(size, digits) {
    if (size >= 2 ** 53) return String(BigInt(size)) + (digits ? "." + "0".repeat(digits) : "");
    const finer = size.toFixed(digits + 1);
    const below = digits ? finer.slice(0, -1) : finer.slice(0, -2);
    const tie = finer.endsWith("5") && Number.isInteger(size * 2 ** (digits + 1));
    return tie && Number(below.slice(-1)) % 2 === 0 ? below : size.toFixed(digits);
  }

  /** With a true minus, thousands apart, whole above 100. @param {Quantity} value @param {number} [digits] */
  function number(value, digits = 2) {
    if (!known(value)) return DASH;
    const size = Math.abs(value);
    return sign(value) + (size >= 100 ? grouped(fixed(size, 0)) : fixed(size, digits));
  }
  /** How many there are. @param {Quantity} value */
  const count = (value) => number(value, 0);

  /** 2.42 cores @param {Quantity} value */
  const cores = (value) => (known(value) ? number(value) + " cores" : DASH);

  /** GiB, or MiB and KiB below one of the larger. @param {Quantity} value */
  function bytes(value) {
    if (!known(value)) return DASH;
    const size = Math.abs(value);
    if (size >= GIB) return number(value / GIB) + " GiB";
    if (size >= MIB) return number(value / MIB) + " MiB";
    return size >= KIB ? number(value / KIB) + " KiB" : sign(value) + fixed(size, 0) + " B";
  }

  /** 3.35 MiB/s @param {Quantity} value */
  const rate = (value) => (known(value) ? bytes(value) + "/s" : DASH);

  /** 250 W @param {Quantity} value */
  const watts = (value) => (known(value) ? number(value, 1) + " W" : DASH);

  /** 45 s, 10 min 55 s, 1 h 05 min @param {Quantity} value seconds */
  function duration(value) {
    if (!known(value)) return DASH;
    const size = Math.abs(value);
    if (size < 10 && !Number.isInteger(size)) return sign(value) + fixed(size, 1) + " s";
    const whole = BigInt(fixed(size, 0)), minutes = whole / 60n, hours = minutes / 60n;
    /** @param {bigint} part */
    const two = (part) => String(part).padStart(2, "0");
    if (hours) return sign(value) + grouped(String(hours)) + " h " + two(minutes % 60n) + " min";
    return sign(value) + (minutes ? minutes + " min " + two(whole % 60n) + " s" : whole + " s");
  }

  /** 28.1% @param {Quantity} value between 0 and 1 @param {number} [digits] */
  function share(value, digits = 1) {
    if (!known(value) || !known(value * 100)) return DASH;
    return sign(value) + fixed(Math.abs(value) * 100, digits) + "%";
  }
  /** A relative change, with its sign unless it is written as zero. @param {Quantity} value @param {number} [digits] */
  function change(value, digits = 1) {
    if (known(value) && Math.abs(value) < 1 && Number(fixed(Math.abs(value) * 100, digits)) === 0) return share(0, digits);
    return (known(value) && value > 0 ? "+" : "") + share(value, digits);
  }

  /** A value of one of the canonical units. @param {Quantity} value @param {Unit} unit */
  const value = (value, unit) =>
    ({ cores, bytes, "bytes/s": rate, watts, share, seconds: duration, plain: number })[unit](value);

  /** Three significant digits, such as those of a loss; powers of ten where it is tiny or huge.
   * @param {Quantity} value */
  function significant(value) {
    if (!known(value)) return DASH;
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2).replaceAll("-", MINUS);
    const text = String(Number(size.toPrecision(3)));
    const decimals = size < 1 ? 3 : size < 10 ? 2 : 0;
    return sign(value) + ((text.split(".")[1] || "").length < decimals ? size.toFixed(decimals) : text);
  }

  /** Three digits at most, as the ticks of an axis have them. @param {number} value */
  const short = (value) => String(Number(value.toPrecision(3))).replaceAll("-", MINUS);

  /** The size and the name of the unit that suits values up to this one.
   * @param {number} value @returns {[number, string]} */
  const bytesUnit = (value) => (value >= GIB || value === 0 ? [GIB, "GiB"] : [MIB, "MiB"]);

  /** φ3, or φ3 validation where people gave it that name. @param {number} phase its id, −1 is warm-up */
  const phaseName = (phase, names) => (phase < 0 ? "warm-up" : ("φ" + (phase + 1) + " " + ((names || {})[phase] || "")).trim());
  /** The classes of a phase's badge. @param {number} phase */
  const phaseClass = (phase) => "phase p" + (phase < 0 ? 0 : (phase % 8) + 1) + (phase >= 8 ? " again" : "");

  window.phasedock = window.phasedock || /** @type {PhaseDock} */ ({});
  window.phasedock.format = {
    known, number, count, cores, bytes, rate, watts, duration, share, change, value, significant, short, bytesUnit, phaseName, phaseClass,
  };
})();
