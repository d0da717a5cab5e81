/* SPDX-License-Identifier: MIT */

